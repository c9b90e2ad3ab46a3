-- What the installer remembers. Runs under its advisory lock, so "if not exists" has no race.
create schema if not exists stepwell;

create table if not exists stepwell.schema_migration (
  migration_no integer primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default clock_timestamp(),
  constraint migration_number_is_positive check (migration_no > 0),
  constraint sha256_is_hex check (sha256 ~ '^[0-9a-f]{64}$')
);

comment on table stepwell.schema_migration is 'Migrations applied to this database; a recorded file never changes.';

create table if not exists stepwell.schema_routine (
  only_row boolean primary key default true,
  sha256 text not null,
  function_names text[] not null,
  view_names text[] not null,
  applied_at timestamptz not null default clock_timestamp(),
  constraint there_is_one_set_of_routines check (only_row)
);

comment on table stepwell.schema_routine is
  'The set of routines in force: the hash of their files, and what they made, so that what vanishes is dropped.';
