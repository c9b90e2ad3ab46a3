-- Every approval ends: one that nobody decides expires.
update stepwell.approval_detail set expires_at = requested_at + interval '7 days' where expires_at is null;
alter table stepwell.approval_detail alter column expires_at set not null;
