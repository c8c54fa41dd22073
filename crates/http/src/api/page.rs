//! Lists come in pages.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use crate::limits::PAGE_MAX;
use crate::problem::Problem;

/// Bytes with which an answer begins, before it grows.
const ANSWER_BYTES: usize = 4096;

/// One page of a list, in order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Page<T> {
    /// What is on this page
    pub items: Vec<T>,
    /// How many there are on all pages, after the filters
    pub total: usize,
    /// The cursor of the page behind this one; absent on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// All there are.
    pub(crate) fn whole(items: impl Iterator<Item = T>) -> Page<T> {
        let items: Vec<T> = items.collect();
        Page { total: items.len(), items, next: None }
    }

    /// The page of `all`, which are in the order of their cursors, that begins behind `cursor` and
    /// has `limit` items at most: everything on one page where none is given.
    ///
    /// # Errors
    /// A limit of 0 or above [`PAGE_MAX`].
    pub(crate) fn cut<A, C: Ord + ToString>(
        all: &[A],
        limit: Option<usize>,
        cursor: Option<C>,
        place: impl Fn(&A) -> C,
        show: impl Fn(&A) -> T,
    ) -> Result<Page<T>, Problem> {
        if limit.is_some_and(|limit| limit == 0 || limit > PAGE_MAX) {
            return Err(Problem::bad("bad-query", format!("limit: accepted are 1 to {PAGE_MAX}")));
        }
        let first = cursor.map_or(0, |cursor| all.partition_point(|item| place(item) <= cursor));
        let rest = &all[first..];
        let shown = &rest[..rest.len().min(limit.unwrap_or(usize::MAX))];
        let next = shown.last().filter(|_| shown.len() < rest.len());
        Ok(Page {
            total: all.len(),
            next: next.map(|last| place(last).to_string()),
            items: shown.iter().map(show).collect(),
        })
    }
}

/// A list is the longest of answers. `axum::Json` writes each word of it into a buffer by calls of
/// its own, which made ten thousand hosts take a tenth longer.
impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        let mut answer = Vec::with_capacity(ANSWER_BYTES);
        match serde_json::to_writer(&mut answer, &self) {
            Ok(()) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
            Err(why) => {
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", why).into_response()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(all: &[u32], limit: Option<usize>, cursor: Option<u32>) -> Result<Page<u32>, Problem> {
        Page::cut(all, limit, cursor, |item| *item, |item| *item)
    }

    #[test]
    fn pages_one_after_the_other_are_the_list() {
        let all: Vec<u32> = (0..10).map(|number| number * 3).collect();
        for limit in [1, 3, 5, 10, 11] {
            let (mut seen, mut cursor) = (vec![], None);
            loop {
                let page = cut(&all, Some(limit), cursor).unwrap();
                assert_eq!(page.total, 10);
                seen.extend(page.items);
                match page.next {
                    Some(next) => cursor = Some(next.parse().unwrap()),
                    None => break,
                }
            }
            assert_eq!(seen, all, "{limit} at a time");
        }
    }

    #[test]
    fn a_cursor_whose_item_is_gone_goes_on_behind_it() {
        assert_eq!(cut(&[1, 2, 5, 6], Some(9), Some(4)).unwrap().items, [5, 6]);
        assert_eq!(cut(&[1, 2], None, Some(7)).unwrap().items, [0_u32; 0]);
        assert_eq!(cut(&[1], Some(0), None).unwrap_err().status, 400);
        assert_eq!(cut(&[1], Some(PAGE_MAX + 1), None).unwrap_err().status, 400);
    }
}
