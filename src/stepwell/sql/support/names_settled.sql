-- Names that a release does not accept any more are settled; whoever cannot act now, with the reason.
select tenant_code, principal_id, principal_name, reason from stepwell._names_settled();
