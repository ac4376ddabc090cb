create table customers (id serial primary key, name text, email text);
insert into customers (name, email)
  select 'Customer Number' || n, 'number' || n || '@home.example' from generate_series(1, 1000) n;
