-- What the roles of processes lack, missing rights first.
select m.role_name, m.lacks, m.missing_right
from stepwell.fn_rights_missing() as m
order by m.lacks <> 'right', m.role_name, m.missing_right
