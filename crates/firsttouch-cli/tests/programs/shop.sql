-- A shop: inserts, an index, aggregates, updates, deletes, and a check of the file's structure.
PRAGMA cache_size = -65536;
PRAGMA journal_mode = MEMORY;
CREATE TABLE sold(id INTEGER PRIMARY KEY, customer INTEGER, article TEXT, price REAL);
BEGIN;
WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < 200000)
INSERT INTO sold
SELECT n, n * 7919 % 10007, printf('article %06d', n * 104729 % 99991), n * 0.01 + (n % 13) / 7.0 FROM row;
COMMIT;
CREATE INDEX by_article ON sold(article, customer);
SELECT count(*), sum(price), avg(price), max(article) FROM sold;
SELECT article, count(*), sum(price) FROM sold GROUP BY article ORDER BY 3 DESC, 1 LIMIT 20;
UPDATE sold SET price = price * 1.07 WHERE customer % 3 = 0;
DELETE FROM sold WHERE customer % 5 = 0;
SELECT a.customer, count(*), sum(a.price * b.price)
FROM sold a JOIN sold b ON a.article = b.article AND a.id < b.id
GROUP BY a.customer ORDER BY 3 DESC LIMIT 20;
SELECT group_concat(customer, ',') FROM (SELECT DISTINCT customer FROM sold ORDER BY 1 LIMIT 100);
VACUUM;
PRAGMA integrity_check;
