//! What a tree can be, and what each error says.

use tollgate::budget::tree::{Grant, Share, Tree, TreeError};
use tollgate::{Fill, Manual, quota};

use crate::support::{S, quota};

fn error(capacity: u64, nodes: &[(&str, Grant)]) -> TreeError {
    let tree = Tree::builder(quota(1000, S, capacity)).clock(Manual::new());
    nodes.iter().fold(tree, |tree, &(name, grant)| tree.node(name, grant)).build().unwrap_err()
}

#[test]
fn each_error_names_the_node_the_value_and_the_range() {
    let half = || Grant::from(Share::percent(50));
    let cases: [(&[(&str, Grant)], &str); 13] = [
        (&[("", half())], "the name ``: it must be parts that are not empty, with `/` between them"),
        (&[("/", half())], "the name `/`: it must be parts that are not empty, with `/` between them"),
        (&[("a//b", half())], "the name `a//b`: it must be parts that are not empty, with `/` between them"),
        (&[("a", half()), ("a", half())], "the node `a` is given twice: names must differ"),
        (&[("a/b", half()), ("a", half())], "the parent of `a/b` is not known: it must be given before"),
        (
            &[("a", Share::percent(0).into())],
            "the share 0/100 of `a`: it must be above zero and at most the whole",
        ),
        (
            &[("a", Share::percent(101).into())],
            "the share 101/100 of `a`: it must be above zero and at most the whole",
        ),
        (
            &[("a", Share::of(0, 0).into())],
            "the share 0/0 of `a`: it must be above zero and at most the whole",
        ),
        (
            &[("a", half()), ("b", Share::of(1, 3).into()), ("c", Share::percent(20).into())],
            "the share 20/100 of `c`: it must be at most what its siblings leave, 166666 parts per million of their parent",
        ),
        (
            &[("a", Share::ppm(9999).into())],
            "the share of `a` holds less than 1 token: give it a burst of at least 1",
        ),
        (&[("a", half().burst(0))], "the burst of 0 tokens of `a`: it must be at least 1"),
        (
            &[("a", half().burst(60)), ("b", half())],
            "the share of `b` holds more than its siblings leave, 40 tokens: give it or them a burst",
        ),
        (
            &[("a", half()), ("a/b", half().burst(30)), ("a/c", half().burst(21))],
            "the burst of 21 tokens of `a/c`: it must be at most 20, which is what its siblings leave",
        ),
    ];
    for (nodes, expected) in cases {
        assert_eq!(error(100, nodes).to_string(), expected);
    }
}

#[test]
fn a_share_is_never_rounded_to_nothing() {
    let million = |depth: usize| (0..depth).map(|_| "x").collect::<Vec<_>>().join("/");
    let names: Vec<_> = (1..=4).map(million).collect();
    let nodes: Vec<_> = names.iter().map(|name| (name.as_str(), Share::ppm(1).burst(1))).collect();
    let error = error(100, &nodes);
    assert_eq!(
        error.to_string(),
        "the share 1/1000000 of `x/x/x/x` vanishes: it must be at least 10^-18 of the whole tree"
    );
}

#[test]
fn a_tree_has_an_end() {
    let deep = |levels: usize| {
        (1..=levels).fold(Tree::builder(quota!("10/s")).clock(Manual::new()), |tree, depth| {
            tree.node(&vec!["x"; depth].join("/"), Share::percent(100))
        })
    };
    assert_eq!(deep(8).build().unwrap().nodes().count(), 9);
    assert_eq!(
        deep(9).build().unwrap_err().to_string(),
        "the node `x/x/x/x/x/x/x/x/x` is too deep: at most 8 levels below the root"
    );

    let wide = |nodes: u32| {
        (0..nodes).fold(Tree::builder(quota!("2000/s")).clock(Manual::new()), |tree, nth| {
            tree.node(&format!("n{nth}"), Share::of(1, nodes))
        })
    };
    let tree = wide(1023).build().unwrap();
    assert!(tree.nodes().skip(1).all(|node| node.try_acquire().is_ok()), "each has its token");
    let error = wide(1024).build().unwrap_err();
    assert_eq!(error.to_string(), "the node `n1023` is one too many: at most 1024 nodes with the root");
}

/// Thirds do not come out even; they still sum to no more than the whole.
#[test]
fn shares_that_do_not_come_out_even_fit() {
    let tree = (0..3).fold(Tree::builder(quota!("10/s")).clock(Manual::new()), |tree, nth| {
        tree.node(&format!("n{nth}"), Share::of(1, 3))
    });
    let tree = tree.build().unwrap();
    let held: Vec<_> = tree.nodes().map(|node| node.peek().held()).collect();
    assert_eq!(held, [10, 3, 3, 3]);
}

/// A quota that does not start full gives each node its part of what is there.
#[test]
fn a_tree_starts_as_its_quota_says() {
    let held = |fill| {
        let tree = Tree::builder(quota!("100/s").fill(fill).unwrap()).clock(Manual::new());
        let tree =
            tree.node("a", Share::percent(50)).node("b", Share::percent(25).burst(10)).build().unwrap();
        tree.nodes().map(|node| node.peek().held()).collect::<Vec<_>>()
    };
    assert_eq!(held(Fill::Full), [100, 50, 10]);
    assert_eq!(held(Fill::Tokens(40)), [40, 20, 4]);
    assert_eq!(held(Fill::Empty), [0, 0, 0]);
}

#[test]
fn nodes_are_found_by_name_and_by_id() {
    let tree = Tree::builder(quota!("100/s"));
    let tree =
        tree.node("a", Share::percent(50)).node("a/b", Share::percent(50)).node("c", Share::percent(10));
    let tree = tree.build().unwrap();
    let names: Vec<_> = tree.nodes().map(|node| node.name()).collect();
    assert_eq!(names, ["/", "a", "a/b", "c"]);
    let b = tree.node("a/b").unwrap();
    assert_eq!(tree.by_id(b.id()).unwrap().name(), "a/b");
    assert_eq!(b.parent().unwrap().parent().unwrap().name(), "/");
    assert!(tree.root().parent().is_none());
    assert_eq!(tree.root().children().map(|node| node.name()).collect::<Vec<_>>(), ["a", "c"]);
    assert!(tree.node("b").is_none() && tree.node("a/").is_none() && tree.node("").is_none());
    let small = Tree::builder(quota!("100/s")).build().unwrap();
    assert!(small.by_id(b.id()).is_none() && small.node("/").is_some());
}
