-- Names of principals: how they are written, and when two of them are the same or look the same. Nothing here depends on
-- the collation of the database. Upper and lower case are known of Latin, Greek, Cyrillic, Armenian, Georgian, Cherokee and
-- Adlam; letters of other scripts that have both, all of them historic, are not accepted.

-- A name as it is stored: composed (NFKC), without space around it, one space between words.
create or replace function stepwell._name_tidy(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select btrim(regexp_replace(normalize(p_name, nfkc), ' +', ' ', 'g'))
$$;

-- What is wrong with a name, in words; null when nothing is. Characters that nobody sees, or that change the direction of
-- what follows, make one name look like another. A colon separates the channel from the name.
create or replace function stepwell._name_problem(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select case
        when coalesce(length(stepwell._name_tidy(p_name)), 0) not between 1 and 200 then '1 to 200 characters are accepted'
        when p_name ~ '[\u0001-\u001F\u007F-\u009F\u2028\u2029]' then 'control characters are not accepted'
        when p_name ~ '[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\U000E0000-\U000E0FFF]'
            -- Blanks that are no spaces, signs that only change others, and characters that look as somebody's font decides.
            or p_name ~ '[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u1680\u2800\uE000-\uF8FF\uFFFE\uFFFF\U000110BD\U000110CD\U00013430-\U0001345F\U0001BCA0-\U0001BCAF\U0001D159\U0001D173-\U0001D17A\U000F0000-\U0010FFFF]'
            then 'characters that cannot be seen, or that change the direction of the text, are not accepted'
        -- Also what looks like one.
        when stepwell._name_tidy(p_name) ~ '[:\u02D0\u02F8\u0589\u05C3\u0703\u0704\u16EC\u1803\u1809\u205A\u2236\uA4FD\uA789]'
            then 'a colon is not accepted'
        -- A mark that forms no letter with the one before it is easily overlooked.
        when stepwell._name_tidy(p_name) ~ '[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF]' then 'marks that belong to no letter are not accepted'
        when stepwell._alphabets_of(p_name) > 1 then 'letters of two alphabets in one name are not accepted'
        -- Letters, marks and signs of all other scripts stand in words of their own: beside a letter they look like a part of it.
        when stepwell._name_tidy(p_name) ~ '[A-Za-z\u00AA\u00BA\u00C0-\u02AF\u0370-\u058F\u10A0-\u10FF\u1C90-\u1CBF\u1E00-\u1FFF][^ -~\u00A1-\u058F\u10A0-\u10FF\u13A0-\u13FF\u1C80-\u1CBF\u1D00-\u1DBF\u1E00-\u1FFF\u2010-\u2019\u2D00-\u2D2F\uA4D0-\uA4FF\uA640-\uA69F\uA720-\uA7FF\uAB30-\uABBF]'
            or stepwell._name_tidy(p_name) ~ '[^ -~\u00A1-\u058F\u10A0-\u10FF\u13A0-\u13FF\u1C80-\u1CBF\u1D00-\u1DBF\u1E00-\u1FFF\u2010-\u2019\u2D00-\u2D2F\uA4D0-\uA4FF\uA640-\uA69F\uA720-\uA7FF\uAB30-\uABBF][A-Za-z\u00AA\u00BA\u00C0-\u02AF\u0370-\u058F\u10A0-\u10FF\u1C90-\u1CBF\u1E00-\u1FFF]'
            then 'letters and signs of two scripts in one word are not accepted'
        when stepwell._name_tidy(p_name) ~ '[\u1C80-\u1C8F\u2132\u214E\u2183\u2184\u2C00-\u2CFF\u2DE0-\u2DFF\uA640-\uA69F\uA720-\uA7FF\uAB30-\uAB6F\U00010400-\U000104FF\U00010570-\U000105BF\U00010C80-\U00010CFF\U00010D50-\U00010D8F\U000118A0-\U000118DF\U00016E40-\U00016EDF]'
            then 'letters of historic scripts are not accepted'
        when stepwell._name_fold(p_name) in ('engine', 'system', 'keeper', 'everybody')
            then 'the name is reserved'
    end
$$;

-- How many of the alphabets whose letters look alike a name is written in: Latin, Greek, Cyrillic, Armenian, Georgian,
-- Cherokee, Lisu, Coptic.
create or replace function stepwell._alphabets_of(p_name text) returns int
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select count(*)::int
    from unnest(array['[A-Za-z\u00AA\u00BA\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02AF\u1D00-\u1DBF\u1E00-\u1EFF\u2C60-\u2C7F\uA720-\uA7FF\uAB30-\uAB6F]',
        '[\u0370-\u03FF\u1F00-\u1FFF]', '[\u0400-\u052F\u1C80-\u1C8F\u2DE0-\u2DFF\uA640-\uA69F]', '[\u0530-\u058F]',
        '[\u10A0-\u10FF\u1C90-\u1CBF\u2D00-\u2D2F]', '[\u13A0-\u13FF\uAB70-\uABBF]', '[\uA4D0-\uA4FF]', '[\u2C80-\u2CFF]']) as a (letters)
    where stepwell._name_tidy(p_name) ~ a.letters
$$;

-- The form of a name by which it is compared: tidy, in lower case.
create or replace function stepwell._name_fold(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select normalize(replace(translate(lower(normalize(stepwell._name_tidy(p_name), nfkd) collate "C"),
        'ÆÐØÞĐĦŁŊŒŦƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾ'
        || 'ϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔ'
        || 'ԖԘԚԜԞԠԢԤԦԨԪԬԮẞỺỼỾ'
        || 'ԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥ'
        || 'ᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻ'
        || 'ꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽ𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡',
        'æðøþđħłŋœŧɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωσϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼ'
        || 'ͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕ'
        || 'ԗԙԛԝԟԡԣԥԧԩԫԭԯßỻỽỿ'
        || 'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭაბგდევზთიკლმნოპჟრსტუფქ'
        || 'ღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫ'
        || 'ᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵ𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃'),
        'ß', 'ss'), nfkc)
$$;

-- What a name looks like: letters that look alike become one letter, whatever their script. Two names with the same
-- skeleton cannot be told apart by eye. Marks above and below letters stay, because they make different names.
create or replace function stepwell._name_skeleton(p_name text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select replace(replace(stepwell._name_fold(translate(normalize(stepwell._name_tidy(p_name), nfkd),
        'АВЕЅІЈКМНОРСТУХҮԚԜӀЗԌҺавеѕіјкмнорстухүԛԝӏзԍһгпьԁѵћΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿαβγεζηικνορσςτυχωϲμıɑɡɩɪᴀʙᴄᴅᴇɢʜᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡ'
        || 'ʏᴢƄƅI1|0‐‑‒–—−’‘ʼЬ',
        'abesljkmhopctyxyqwl3ghabesijkmhopctyxyqwl3ghrnbdvhabezhlkmnoptyxcjabyezniknopoctuxwcuiagiiabcdeghjklmnoprstuvw'
        || 'yzbblllo------''''''b')),
        'rn', 'm'), 'vv', 'w')
$$;

-- The name of an actor as it is compared, without the channel they came by: `cli:ada`, `slack:Ada` and `ada` are one
-- person. No name has a colon, so the channel is always told apart.
create or replace function stepwell._actor_plain(p_actor text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select stepwell._name_fold(substr(p_actor, coalesce(length(stepwell._actor_channel(p_actor)) + 2, 1)))
$$;

-- The channel by which an actor came: the command line, the API, a page, Slack, an agent. Null when none is named.
create or replace function stepwell._actor_channel(p_actor text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select substring(p_actor from '^(cli|api|client|web|ui|slack|mcp|hook):')
$$;
