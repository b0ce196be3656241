//! For the tests of pictures and reports.

/// The texts between the tags, after a check that every element is closed in order and every mark is escaped.
pub(crate) fn texts_of_well_formed(document: &str) -> Vec<String> {
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    for piece in document.trim().split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("every tag ends");
        assert!(!text.contains('>') && tag.matches('"').count().is_multiple_of(2), "{piece}");
        assert!(
            text.split('&')
                .skip(1)
                .all(|rest| ["lt;", "gt;", "amp;"].iter().any(|name| rest.starts_with(name)))
        );
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.starts_with('/'), tag.ends_with('/') || tag.starts_with('!')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, false) => open.push(name),
            (false, true) => {}
        }
        texts.push(text.trim().to_owned());
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    texts
}
