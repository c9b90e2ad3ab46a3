-- Who cannot act because the name is not accepted any more: tenant, number, name and reason, of all tenants.
select tenant_code, principal_id, principal_name, reason from stepwell.fn_names_refused();
