-- Adds the first secret of a tenant, unless it has one.
CREATE OR REPLACE FUNCTION callboard.add_webhook_secret(its_tenant text, new_secret text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('callboard webhook secret of ' || its_tenant, 0));
    IF NOT EXISTS (SELECT FROM callboard.webhook_secrets s WHERE s.tenant = its_tenant AND s.expires_at IS NULL) THEN
        INSERT INTO callboard.webhook_secrets (tenant, secret, created_at) VALUES (its_tenant, new_secret, callboard.now());
    END IF;
END $$;

-- Makes another secret the current one. Those before it go on signing for `overlap` seconds, so that receivers can change
-- theirs without refusing anything. Secrets that do not sign any more are deleted.
CREATE OR REPLACE FUNCTION callboard.rotate_webhook_secret(its_tenant text, new_secret text, overlap double precision)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('callboard webhook secret of ' || its_tenant, 0));
    -- A repetition after a lost answer.
    IF EXISTS (SELECT FROM callboard.webhook_secrets s WHERE s.tenant = its_tenant AND s.secret = new_secret) THEN
        RETURN;
    END IF;
    UPDATE callboard.webhook_secrets s
    SET expires_at = least(s.expires_at, callboard.now() + make_interval(secs => overlap))
    WHERE s.tenant = its_tenant;
    DELETE FROM callboard.webhook_secrets s WHERE s.tenant = its_tenant AND s.expires_at <= callboard.now();
    INSERT INTO callboard.webhook_secrets (tenant, secret, created_at) VALUES (its_tenant, new_secret, callboard.now());
END $$;
