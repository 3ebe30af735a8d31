-- Rows inserted one by one into a table with an index, in memory: many small allocations, a page cache of its own.
--
--   sqlite3 :memory: '.read inserts.sql'
CREATE TABLE sold(id INTEGER PRIMARY KEY, customer INTEGER, article TEXT, price REAL);
CREATE INDEX by_article ON sold(article);
WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < 600000)
INSERT INTO sold SELECT n, n * 7919 % 10007, 'article ' || n * 104729 % 99991, n * 0.25 FROM row;
UPDATE sold SET article = article || ' used' WHERE customer % 3 = 0;
SELECT count(*), sum(price), max(article) FROM sold;
