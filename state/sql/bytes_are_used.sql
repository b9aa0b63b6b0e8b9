SELECT EXISTS (SELECT FROM callboard.contents c WHERE c.sha256 = %(sha256)s) AS used
