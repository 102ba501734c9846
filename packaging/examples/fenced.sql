-- Once, in the database that a job writes to. Each transaction of the job then begins with SELECT fenced(KEY, FENCE): it
-- fails if a newer holder of the lock has been here, and makes a newer one wait until it has ended.
CREATE TABLE fences (key text PRIMARY KEY, fence bigint NOT NULL);

CREATE FUNCTION fenced(this_key text, this_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fences VALUES (this_key, this_fence)
        ON CONFLICT (key) DO UPDATE SET fence = excluded.fence WHERE fences.fence <= excluded.fence;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a newer holder of % has been here; fence % is too old', this_key, this_fence;
    END IF;
END
$$;
