-- What helps against an integrity warning follows from what warns: content, a problem that closed without its event, an invariant.
insert into stepwell.i18n_text (text_key, lang, text_value) values
('problem.remedy.content_warning', 'en', 'Compare the content with what it was made from, and name the new content in the workflows that show it.'),
('problem.remedy.content_warning', 'vi', 'So sánh nội dung với nguồn đã tạo ra nó, và ghi nội dung mới vào các quy trình đang hiển thị nó.'),
('problem.remedy.silent_flip', 'en', 'Somebody changed the row beside the engine. Find who has the rights of the owner, and look whether its cause is still there.'),
('problem.remedy.silent_flip', 'vi', 'Có người đã sửa dòng này ngoài hệ thống. Tìm ai có quyền chủ sở hữu và xem nguyên nhân còn không.');

update stepwell.i18n_text as t set text_value = v.text_value
from (values
    ('problem.remedy.integrity_warning', 'en', 'Something does not agree with the log or with its source. Each warning says what, and what helps.'),
    ('problem.remedy.integrity_warning', 'vi', 'Có điều không khớp với nhật ký hoặc với nguồn. Mỗi cảnh báo nói rõ điều gì và cách xử lý.')
) as v (text_key, lang, text_value)
where t.text_key = v.text_key and t.lang = v.lang;
