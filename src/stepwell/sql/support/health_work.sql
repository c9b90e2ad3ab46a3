-- Figures over all tenants, which a keeper may ask for; one row.
select h.* from stepwell.fn_health_read(%s, %s) as h;
