create view people as select id, split_part(name, ' ', 1) as first, split_part(name, ' ', 2) as last, email from customers;
