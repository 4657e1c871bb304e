use proptest::prelude::*;

use super::*;

/// What `encodeURIComponent` answers for every ASCII character in order.
const ASCII_ENCODED: &str = concat!(
    "%00%01%02%03%04%05%06%07%08%09%0A%0B%0C%0D%0E%0F",
    "%10%11%12%13%14%15%16%17%18%19%1A%1B%1C%1D%1E%1F",
    "%20!%22%23%24%25%26'()*%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F",
    "%40ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_",
    "%60abcdefghijklmnopqrstuvwxyz%7B%7C%7D~%7F",
);

fn encoded(text: &str) -> String {
    let mut out = String::new();
    encode_component(text, &mut out);
    out
}

fn scheme(tracked: bool) -> KeyScheme {
    KeyScheme::new("users-api", "user_id", "GetUser", tracked).unwrap()
}

fn logical(scheme: &KeyScheme, id: &str, args: &str) -> String {
    let mut out = String::new();
    scheme.write_logical(id, args, &mut out).unwrap();
    out
}

#[test]
fn components_are_encoded_as_javascript_does() {
    let ascii: String = (0..128_u8).map(char::from).collect();
    assert_eq!(encoded(&ascii), ASCII_ENCODED);
    for (text, expected) in [
        ("", ""),
        ("plain-id_1.2!~*'()", "plain-id_1.2!~*'()"),
        ("é", "%C3%A9"),
        ("ÿ", "%C3%BF"),
        ("€", "%E2%82%AC"),
        ("漢字", "%E6%BC%A2%E5%AD%97"),
        ("😀", "%F0%9F%98%80"),
        ("a😀b", "a%F0%9F%98%80b"),
        ("\u{10FFFF}", "%F4%8F%BF%BF"),
        ("\u{FFFD}", "%EF%BF%BD"),
        ("e\u{301}", "e%CC%81"),
    ] {
        assert_eq!(encoded(text), expected, "{text:?}");
    }
}

#[test]
fn encoding_appends() {
    let mut out = String::from("a:");
    encode_component("b c", &mut out);
    assert_eq!(out, "a:b%20c");
}

#[test]
fn keys_look_as_documented() {
    let plain = scheme(false);
    assert_eq!(logical(&plain, "123", ""), "users-api:user_id:123#GetUser");
    assert_eq!(
        logical(&plain, "123", "?locale=en"),
        "users-api:user_id:123?locale=en#GetUser"
    );
    assert_eq!(plain.prefix("123").unwrap(), "users-api:user_id:123");
    assert_eq!(
        plain.value_key("123", "?a=1&b=2").unwrap(),
        "users-api:user_id:123?a=1&b=2#GetUser:dialcache-frame-v1"
    );

    let tracked = scheme(true);
    assert_eq!(logical(&tracked, "123", ""), "{users-api:user_id:123}#GetUser");
    assert_eq!(tracked.prefix("123").unwrap(), "{users-api:user_id:123}");
    assert_eq!(
        tracked.value_key("123", "?locale=en").unwrap(),
        "{users-api:user_id:123}?locale=en#GetUser:dialcache-frame-v1"
    );
}

#[test]
fn a_watermark_is_in_braces_whether_the_scheme_is_tracked_or_not() {
    for tracked in [false, true] {
        assert_eq!(
            scheme(tracked).watermark_key("a/b").unwrap(),
            "{users-api:user_id:a%2Fb}#watermark"
        );
    }
}

#[test]
fn a_long_id_is_kept_whole() {
    for length in 250..300 {
        let id = "é".repeat(length);
        let key = logical(&scheme(false), &id, "");
        assert_eq!(key, format!("users-api:user_id:{}#GetUser", "%C3%A9".repeat(length)));
    }
}

#[test]
fn braces_are_refused_where_they_would_move_a_hash_tag() {
    for brace in ["{", "}", "a{b}c"] {
        for tracked in [false, true] {
            assert_eq!(
                KeyScheme::new(brace, "t", "u", tracked).unwrap_err(),
                KeyError::BraceInNamespace
            );
        }
        assert_eq!(
            KeyScheme::new("n", brace, "u", true).unwrap_err(),
            KeyError::BraceInKeyType
        );

        let tracked = scheme(true);
        let mut out = String::from("kept");
        assert_eq!(tracked.write_logical(brace, "", &mut out), Err(KeyError::BraceInId));
        assert_eq!(out, "kept", "a refused id leaves nothing behind");
        assert_eq!(tracked.value_key(brace, ""), Err(KeyError::BraceInId));
        assert_eq!(tracked.watermark_key(brace), Err(KeyError::BraceInId));
        assert_eq!(tracked.prefix(brace), Err(KeyError::BraceInId));

        let untracked = KeyScheme::new("n", brace, "u", false).unwrap();
        assert!(untracked.value_key(brace, "").is_ok());
        assert_eq!(untracked.watermark_key("1"), Err(KeyError::BraceInKeyType));
        assert_eq!(scheme(false).watermark_key(brace), Err(KeyError::BraceInId));
    }
}

#[test]
fn refusals_say_what_to_change_and_hold_no_id() {
    let message = scheme(true).value_key("secret{", "").unwrap_err().to_string();
    assert_eq!(message, "the id of a tracked key must not contain `{` or `}`");
}

#[test]
fn lookalike_ids_stay_apart() {
    let ids = [
        "a:b",
        "a",
        "b:c",
        "%3A",
        ":",
        "?",
        "#",
        "",
        "1",
        "01",
        " 1",
        "a?x=1",
        "a#GetUser",
        "%",
        "%25",
        "a%3Ab",
        "A",
        "é",
        "e\u{301}",
    ];
    for tracked in [false, true] {
        let scheme = scheme(tracked);
        let mut keys: Vec<_> = ids.iter().map(|id| logical(&scheme, id, "")).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), ids.len());
    }
    // The same letters, cut between type and id in another place.
    let one = logical(&KeyScheme::new("n", "a", "u", false).unwrap(), "b:c", "");
    let two = logical(&KeyScheme::new("n", "a:b", "u", false).unwrap(), "c", "");
    assert_ne!(one, two);
}

proptest! {
    #[test]
    fn encoding_can_be_undone(text in ".*") {
        let encoded = encoded(&text);
        let mut bytes = Vec::new();
        let mut rest = encoded.as_bytes();
        while let [first, tail @ ..] = rest {
            if *first == b'%' {
                bytes.push(u8::from_str_radix(&encoded[encoded.len() - tail.len()..][..2], 16).unwrap());
                rest = &tail[2..];
            } else {
                prop_assert!(UNRESERVED[usize::from(*first)]);
                bytes.push(*first);
                rest = tail;
            }
        }
        prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }

    #[test]
    fn different_calls_have_different_keys(
        one in ("[a:#?%{}=&é]{0,4}", "[a:#?%=&é]{0,4}", "[a:#?%=&é]{0,3}"),
        two in ("[a:#?%{}=&é]{0,4}", "[a:#?%=&é]{0,4}", "[a:#?%=&é]{0,3}"),
    ) {
        let key = |(key_type, id, arg): &(String, String, String)| {
            let args = if arg.is_empty() { String::new() } else { format!("?x={}", encoded(arg)) };
            logical(&KeyScheme::new("n", key_type, "use", false).unwrap(), id, &args)
        };
        prop_assert_eq!(one == two, key(&one) == key(&two));
    }

    #[test]
    fn a_tracked_key_has_one_hash_tag_which_its_watermark_shares(id in "[^{}]*", key_type in "[^{}]*") {
        let scheme = KeyScheme::new("n", &key_type, "use", true).unwrap();
        let value = scheme.value_key(&id, "").unwrap();
        let watermark = scheme.watermark_key(&id).unwrap();
        let tag = |key: &str| key[..=key.find('}').unwrap()].to_owned();
        prop_assert_eq!(tag(&value), tag(&watermark));
        prop_assert_eq!(value.matches(['{', '}']).count(), 2);
    }
}
