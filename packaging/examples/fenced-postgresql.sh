#!/bin/sh
# A job that writes to PostgreSQL and can do no harm when it has lost the lock without knowing; fenced.sql is needed once.
#
#   rlock run totals -- ./fenced-postgresql.sh
set -eu
# psql puts :'key' and :'fence' in as literals. ON_ERROR_STOP: without it psql goes on, and exits 0.
psql -qX -v ON_ERROR_STOP=1 -v key="$RLOCK_KEY" -v fence="$RLOCK_FENCE" <<'SQL'
BEGIN;
SELECT fenced(:'key', :'fence');
INSERT INTO totals SELECT current_date, count(*) FROM orders;
COMMIT;
SQL
