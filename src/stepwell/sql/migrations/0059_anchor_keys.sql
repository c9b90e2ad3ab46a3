-- Anchors are signed. The key that signed last is stored, so that the head is signed again when the key changes.
alter table stepwell.audit_anchor add column public_key text;
comment on column stepwell.audit_anchor.public_key is 'The public key of the last signature that this anchor has received; null without signatures.';
