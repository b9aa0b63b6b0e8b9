-- What is the same in two errors: see state/tables/error_groups.sql.
CREATE DOMAIN callboard.fingerprint AS text COLLATE "C";

CREATE FUNCTION callboard.normalize_message(message text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000
AS $$
DECLARE
    line text COLLATE "C" := split_part(ltrim(left(message, 2000), E' \t\r\n'), E'\n', 1) COLLATE "C";
BEGIN
    line := left(line, 1000);
    -- Names in JSON stay; what else is quoted does not.
    line := regexp_replace(line, '"([^"]*)"(\s*:)', '\1\2', 'g');
    line := regexp_replace(line, '"[^"]*"|`[^`]*`|[„“][^„“”]*[“”]|«[^»]*»|(?<![[:alnum:]])''[^'']*''(?![[:alnum:]])', '<text>', 'g');
    line := regexp_replace(line, '([a-z][a-z0-9+.-]*://[^\s/?#"''<>]*)[^\s"''<>)\]},;]*', '\1/<path>', 'gi');
    line := regexp_replace(line, '(?<![[:alnum:]:/>])(~?(/[^\s/:,;"''()<>]+){2,}/?|[A-Z]:\\[^\s:,;"''()<>]+)', '<path>', 'g');
    line := regexp_replace(line, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\m[a-z]{1,10}_(?=[a-z]*[0-9])[a-z0-9]{10,}\M', '<id>', 'gi');
    line := regexp_replace(line, '\m[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?(Z|[+-][0-9]{2}:?[0-9]{2})\M)?)?', '<time>', 'g');
    line := regexp_replace(line, '\m(0x[0-9a-f]+|(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,})\M', '<hex>', 'gi');
    line := regexp_replace(line, '[0-9]+([.,:][0-9]+)*', '<n>', 'g');
    line := regexp_replace(line, '(<(n|text|id|hex)>)(, ?\1)+', '\1, …', 'g');
    RETURN left(btrim(regexp_replace(line, '\s+', ' ', 'g')), 300);
END $$;

CREATE FUNCTION callboard.error_fingerprint(error jsonb) RETURNS callboard.fingerprint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000
AS $$
BEGIN
    RETURN left(encode(sha256(convert_to(
        concat(error ->> 'type', E'\n', callboard.normalize_message(error ->> 'message')), 'UTF8')), 'hex'), 16);
END $$;
