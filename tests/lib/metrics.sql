-- What a profile says, as rows (function, metric, value): for each function named in `expect`, over
-- all call paths that it is on; and "total", the program. Needs: a table expect(function, …).
-- The one place in the tests that knows the schema (doc/FORMAT-profile.md).

CREATE TEMP TABLE inside AS
WITH RECURSIVE below(function, path) AS (
  SELECT DISTINCT wanted.function, path.id
  FROM (SELECT DISTINCT function FROM expect) AS wanted
  JOIN function AS f ON f.name = wanted.function OR f.linkage = wanted.function
       OR f.name LIKE wanted.function || '(%'
  JOIN location_frame ON location_frame.function = f.id
  JOIN path ON path.location = location_frame.location
  UNION
  SELECT below.function, path.id FROM below JOIN path ON path.parent = below.path
)
SELECT function, path FROM below;

-- Depth and outermost mark of every path.
CREATE TEMP TABLE reach AS
WITH RECURSIVE down(path, depth, mark) AS (
  SELECT path.id, 1, location.mark FROM path JOIN location ON location.id = path.location
  WHERE path.parent = 0
  UNION ALL
  SELECT path.id, down.depth + 1, down.mark FROM down JOIN path ON path.parent = down.path
)
SELECT path, depth, mark FROM down;
CREATE INDEX temp.reach_path ON reach(path);

CREATE TEMP VIEW sites AS
SELECT inside.function AS owner, reach.depth, reach.mark, site.* FROM inside
JOIN site ON site.path = inside.path JOIN reach ON reach.path = inside.path;

CREATE TEMP TABLE got(function TEXT, metric TEXT, value);
INSERT INTO got SELECT owner, 'alloc_count', sum(alloc_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'alloc_count', alloc_count FROM program;
INSERT INTO got SELECT owner, 'alloc_bytes', sum(alloc_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'alloc_bytes', alloc_bytes FROM program;
INSERT INTO got SELECT owner, 'realloc_count', sum(realloc_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'realloc_count', realloc_count FROM program;
INSERT INTO got SELECT owner, 'realloc_bytes', sum(realloc_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'realloc_bytes', realloc_bytes FROM program;
INSERT INTO got SELECT owner, 'realloc_moved', sum(realloc_moved) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'realloc_moved', realloc_moved FROM program;
INSERT INTO got SELECT owner, 'free_count', sum(free_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'free_count', free_count FROM program;
INSERT INTO got SELECT owner, 'free_bytes', sum(free_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'free_bytes', free_bytes FROM program;
INSERT INTO got SELECT owner, 'failed_count', sum(failed_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'failed_count', failed_count FROM program;
INSERT INTO got SELECT owner, 'zero_count', sum(zero_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'zero_count', zero_count FROM program;
INSERT INTO got SELECT owner, 'aligned_count', sum(aligned_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'aligned_count', aligned_count FROM program;
INSERT INTO got SELECT owner, 'temporary_count', sum(temporary_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'temporary_count', temporary_count FROM program;
INSERT INTO got SELECT owner, 'slack_bytes', sum(slack_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'slack_bytes', slack_bytes FROM program;
INSERT INTO got SELECT owner, 'lifetime_sum_ns', sum(lifetime_sum_ns) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'lifetime_sum_ns', lifetime_sum_ns FROM program;
INSERT INTO got SELECT owner, 'live_count', sum(live_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'live_count', live_count FROM program;
INSERT INTO got SELECT owner, 'live_bytes', sum(live_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'live_bytes', live_bytes FROM program;
INSERT INTO got SELECT owner, 'live_slack_bytes', sum(live_slack_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'live_slack_bytes', live_slack_bytes FROM program;
INSERT INTO got SELECT owner, 'at_peak_bytes', sum(at_peak_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'at_peak_bytes', at_peak_bytes FROM program;
INSERT INTO got SELECT owner, 'at_peak_count', sum(at_peak_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'at_peak_count', at_peak_count FROM program;
INSERT INTO got SELECT owner, 'map_count', sum(map_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'map_count', map_count FROM program;
INSERT INTO got SELECT owner, 'map_bytes', sum(map_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'map_bytes', map_bytes FROM program;
INSERT INTO got SELECT owner, 'freed_count', sum(freed_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'freed_count', freed_count FROM program;
INSERT INTO got SELECT owner, 'freed_bytes', sum(freed_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'freed_bytes', freed_bytes FROM program;
INSERT INTO got SELECT owner, 'freed_elsewhere_count', sum(freed_elsewhere_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'freed_elsewhere_count', freed_elsewhere_count FROM program;
INSERT INTO got SELECT owner, 'freed_lifetime_sum_ns', sum(freed_lifetime_sum_ns) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'freed_lifetime_sum_ns', freed_lifetime_sum_ns FROM program;
INSERT INTO got SELECT owner, 'sample_count', sum(sample_count) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'sample_count', sample_count FROM program;

-- The error bars of a sample: half of what holds the truth with 95 %.
CREATE TEMP VIEW bar AS SELECT 1.96 * value / sqrt(1024) AS unit FROM meta WHERE key = 'sample_bytes';
INSERT INTO got SELECT owner, 'alloc_error', unit * sqrt(sum(alloc_variance)) FROM sites, bar GROUP BY owner;
INSERT INTO got SELECT owner, 'live_error', unit * sqrt(sum(live_variance)) FROM sites, bar GROUP BY owner;

-- Not added up over call paths.
INSERT INTO got SELECT owner, 'size_min', min(size_min) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'size_min', size_min FROM program;
INSERT INTO got SELECT owner, 'lifetime_min_ns', min(lifetime_min_ns) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'lifetime_min_ns', lifetime_min_ns FROM program;
INSERT INTO got SELECT owner, 'size_max', max(size_max) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'size_max', size_max FROM program;
INSERT INTO got SELECT owner, 'lifetime_max_ns', max(lifetime_max_ns) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'lifetime_max_ns', lifetime_max_ns FROM program;
INSERT INTO got SELECT owner, 'peak_bytes', max(peak_bytes) FROM sites GROUP BY owner UNION ALL SELECT 'total', 'peak_bytes', peak_bytes FROM program;

-- How many call paths allocated; the longest of them; how many could not be walked to their end.
INSERT INTO got SELECT owner, 'paths', count(*) FROM sites WHERE alloc_count + realloc_count > 0 GROUP BY owner;
INSERT INTO got SELECT owner, 'depth', max(depth) FROM sites GROUP BY owner;
INSERT INTO got SELECT owner, 'unwalkable', sum(mark > 0 AND mark <> 2) FROM sites GROUP BY owner
UNION ALL SELECT 'total', 'unwalkable', count(*) FROM site JOIN reach USING (path) WHERE mark > 0 AND mark <> 2;

-- Only of the whole program.
INSERT INTO got SELECT 'total', 'live_peak_count', live_peak_count FROM program;
INSERT INTO got SELECT 'total', 'foreign_frees', foreign_frees FROM program;
INSERT INTO got SELECT 'total', 'replaced_blocks', replaced_blocks FROM program;
INSERT INTO got SELECT 'total', 'unmap_count', unmap_count FROM program;
INSERT INTO got SELECT 'total', 'unmap_bytes', unmap_bytes FROM program;
INSERT INTO got SELECT 'total', 'brk_count', brk_count FROM program;
INSERT INTO got SELECT 'total', 'brk_bytes', brk_bytes FROM program;
INSERT INTO got SELECT 'total', 'events', events FROM program;
INSERT INTO got SELECT 'total', 'late_events', late_events FROM program;
INSERT INTO got SELECT 'total', 'lost_events', lost_events FROM program;
-- a row may stand for several threads that ran one after the other
INSERT INTO got SELECT 'total', 'threads', count(*) + sum(earlier_count) FROM thread;
INSERT INTO got SELECT 'meta', key, value FROM meta;

-- A function that is on no path counted nothing.
INSERT INTO got SELECT DISTINCT expect.function, m.metric, 0
FROM expect JOIN (SELECT DISTINCT metric FROM got WHERE metric NOT LIKE '%_min%') AS m
WHERE NOT EXISTS (SELECT 1 FROM got WHERE got.function = expect.function);
CREATE INDEX temp.got_metric ON got(function, metric);

-- What must hold in every profile: the account balances, path by path and in all.
CREATE TEMP VIEW broken AS
SELECT 'path ' || path || ': live_count is not allocated + reallocated - freed' AS what FROM site
WHERE live_count <> alloc_count + realloc_count - free_count
UNION ALL
SELECT 'path ' || path || ': live_bytes is not allocated + reallocated - freed' FROM site
WHERE live_bytes <> alloc_bytes + realloc_bytes - free_bytes
UNION ALL
SELECT 'path ' || path || ': its own peak is below what it had at the global peak' FROM site
WHERE peak_bytes < at_peak_bytes OR peak_bytes < live_bytes
UNION ALL SELECT 'the paths'' alloc_count do not add up to the total' WHERE (SELECT coalesce(sum(alloc_count), 0) FROM site) <> (SELECT alloc_count FROM program)
UNION ALL SELECT 'the paths'' alloc_bytes do not add up to the total' WHERE (SELECT coalesce(sum(alloc_bytes), 0) FROM site) <> (SELECT alloc_bytes FROM program)
UNION ALL SELECT 'the paths'' realloc_count do not add up to the total' WHERE (SELECT coalesce(sum(realloc_count), 0) FROM site) <> (SELECT realloc_count FROM program)
UNION ALL SELECT 'the paths'' realloc_bytes do not add up to the total' WHERE (SELECT coalesce(sum(realloc_bytes), 0) FROM site) <> (SELECT realloc_bytes FROM program)
UNION ALL SELECT 'the paths'' realloc_moved do not add up to the total' WHERE (SELECT coalesce(sum(realloc_moved), 0) FROM site) <> (SELECT realloc_moved FROM program)
UNION ALL SELECT 'the paths'' free_count do not add up to the total' WHERE (SELECT coalesce(sum(free_count), 0) FROM site) <> (SELECT free_count FROM program)
UNION ALL SELECT 'the paths'' free_bytes do not add up to the total' WHERE (SELECT coalesce(sum(free_bytes), 0) FROM site) <> (SELECT free_bytes FROM program)
UNION ALL SELECT 'the paths'' failed_count do not add up to the total' WHERE (SELECT coalesce(sum(failed_count), 0) FROM site) <> (SELECT failed_count FROM program)
UNION ALL SELECT 'the paths'' zero_count do not add up to the total' WHERE (SELECT coalesce(sum(zero_count), 0) FROM site) <> (SELECT zero_count FROM program)
UNION ALL SELECT 'the paths'' aligned_count do not add up to the total' WHERE (SELECT coalesce(sum(aligned_count), 0) FROM site) <> (SELECT aligned_count FROM program)
UNION ALL SELECT 'the paths'' temporary_count do not add up to the total' WHERE (SELECT coalesce(sum(temporary_count), 0) FROM site) <> (SELECT temporary_count FROM program)
UNION ALL SELECT 'the paths'' slack_bytes do not add up to the total' WHERE (SELECT coalesce(sum(slack_bytes), 0) FROM site) <> (SELECT slack_bytes FROM program)
UNION ALL SELECT 'the paths'' lifetime_sum_ns do not add up to the total, rounding apart'
WHERE abs((SELECT total(lifetime_sum_ns) FROM site) - (SELECT lifetime_sum_ns FROM program)) > (SELECT count(*) FROM site)
UNION ALL SELECT 'the paths'' live_count do not add up to the total' WHERE (SELECT coalesce(sum(live_count), 0) FROM site) <> (SELECT live_count FROM program)
UNION ALL SELECT 'the paths'' live_bytes do not add up to the total' WHERE (SELECT coalesce(sum(live_bytes), 0) FROM site) <> (SELECT live_bytes FROM program)
UNION ALL SELECT 'the paths'' live_slack_bytes do not add up to the total' WHERE (SELECT coalesce(sum(live_slack_bytes), 0) FROM site) <> (SELECT live_slack_bytes FROM program)
UNION ALL SELECT 'the paths'' at_peak_bytes do not add up to the total' WHERE (SELECT coalesce(sum(at_peak_bytes), 0) FROM site) <> (SELECT at_peak_bytes FROM program)
UNION ALL SELECT 'the paths'' at_peak_count do not add up to the total' WHERE (SELECT coalesce(sum(at_peak_count), 0) FROM site) <> (SELECT at_peak_count FROM program)
UNION ALL SELECT 'the paths'' map_count do not add up to the total' WHERE (SELECT coalesce(sum(map_count), 0) FROM site) <> (SELECT map_count FROM program)
UNION ALL SELECT 'the paths'' map_bytes do not add up to the total' WHERE (SELECT coalesce(sum(map_bytes), 0) FROM site) <> (SELECT map_bytes FROM program)
UNION ALL SELECT 'the paths'' freed_count do not add up to the total' WHERE (SELECT sum(freed_count) FROM site) <> (SELECT freed_count FROM program)
UNION ALL SELECT 'the paths'' freed_bytes do not add up to the total' WHERE (SELECT sum(freed_bytes) FROM site) <> (SELECT freed_bytes FROM program)
UNION ALL SELECT 'the paths'' freed_elsewhere_count do not add up to the total' WHERE (SELECT sum(freed_elsewhere_count) FROM site) <> (SELECT freed_elsewhere_count FROM program)
UNION ALL SELECT 'the paths'' freed_lifetime_sum_ns do not add up to the total'
WHERE (SELECT sum(freed_lifetime_sum_ns) FROM site) <> (SELECT freed_lifetime_sum_ns FROM program)
-- With free stacks every end of a life that is no realloc and was not missed has a path; without, none.
UNION ALL SELECT 'freed_count is not free_count less reallocations' FROM program
WHERE freed_count > free_count OR freed_count < free_count - realloc_count - replaced_blocks
UNION ALL SELECT 'freed_count is known though it was not recorded, or the other way round' FROM program
WHERE (freed_count IS NULL) <> NOT EXISTS (SELECT 1 FROM meta WHERE key = 'free_stacks' AND value = 1)
UNION ALL SELECT 'path ' || path || ': freed_count is not known, or is' FROM site
WHERE (freed_count IS NULL) <> (SELECT freed_count IS NULL FROM program)
UNION ALL SELECT 'the paths'' ' || what || ' do not add up to the total' FROM (
SELECT 'sample_count' AS what, (SELECT sum(sample_count) FROM site) AS sum, sample_count AS total FROM program
UNION ALL SELECT 'alloc_variance', (SELECT sum(alloc_variance) FROM site), alloc_variance FROM program
UNION ALL SELECT 'live_variance', (SELECT sum(live_variance) FROM site), live_variance FROM program
UNION ALL SELECT 'at_peak_variance', (SELECT sum(at_peak_variance) FROM site), at_peak_variance FROM program)
WHERE sum <> total
UNION ALL SELECT 'sample_count is known though nothing was sampled, or the other way round' FROM program
WHERE (sample_count IS NULL) <> NOT EXISTS (SELECT 1 FROM meta WHERE key = 'sample_bytes')
UNION ALL SELECT 'at_peak_bytes of all is not the peak' FROM program WHERE at_peak_bytes <> peak_bytes;
