alter table customers add column first text, add column last text;
update customers set first = split_part(name, ' ', 1), last = split_part(name, ' ', 2);
alter table customers drop column name;
