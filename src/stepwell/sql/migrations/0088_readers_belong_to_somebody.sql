-- The account that moved a reader of the log first: only this account moves it further. A reader from before this release
-- belongs to the account that moves it next; one of the owner of the schema has none.
alter table stepwell.event_reader add column principal_id bigint;
