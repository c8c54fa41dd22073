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
        check(limit)?;
        let first = cursor.map_or(0, |cursor| all.partition_point(|item| place(item) <= cursor));
        Ok(Page::begin(&all[first..], all.len(), limit, place, show))
    }

    /// The same of items in any order, of which no more are held than twice those of the page.
    ///
    /// # Errors
    /// As [`Page::cut`].
    pub(crate) fn pick<A, C: Ord + ToString>(
        all: impl Iterator<Item = A>,
        limit: Option<usize>,
        cursor: Option<C>,
        place: impl Fn(&A) -> C,
        show: impl Fn(&A) -> T,
    ) -> Result<Page<T>, Problem> {
        check(limit)?;
        // One more than is shown: whether there is a page behind it.
        let most = limit.map_or(usize::MAX, |limit| limit + 1);
        let (mut rest, mut total) = (Vec::new(), 0);
        for item in all {
            total += 1;
            if cursor.as_ref().is_none_or(|cursor| place(&item) > *cursor) {
                rest.push(item);
            }
            if rest.len() == most.saturating_mul(2) {
                rest.select_nth_unstable_by_key(most, &place);
                rest.truncate(most);
            }
        }
        rest.sort_unstable_by_key(&place);
        Ok(Page::begin(&rest, total, limit, place, show))
    }

    /// Those at the beginning of `rest`.
    fn begin<A, C: ToString>(
        rest: &[A],
        total: usize,
        limit: Option<usize>,
        place: impl Fn(&A) -> C,
        show: impl Fn(&A) -> T,
    ) -> Page<T> {
        let shown = &rest[..rest.len().min(limit.unwrap_or(usize::MAX))];
        let next = shown.last().filter(|_| shown.len() < rest.len());
        let next = next.map(|last| place(last).to_string());
        Page { total, next, items: shown.iter().map(show).collect() }
    }
}

fn check(limit: Option<usize>) -> Result<(), Problem> {
    match limit {
        Some(limit) if limit == 0 || limit > PAGE_MAX => {
            Err(Problem::bad("bad-query", format!("limit: accepted are 1 to {PAGE_MAX}")))
        }
        _ => Ok(()),
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

    /// A page of numbers, cut from them in order and picked from them in any.
    fn page(all: &[u32], limit: Option<usize>, cursor: Option<u32>) -> Result<Page<u32>, Problem> {
        let cut = Page::cut(all, limit, cursor, |item| *item, |item| *item);
        let mut mixed = all.to_vec();
        mixed.sort_by_key(|item| item.wrapping_mul(0x9e37_79b1));
        let picked = Page::pick(mixed.into_iter(), limit, cursor, |item| *item, |item| *item);
        match (cut, picked) {
            (Ok(cut), Ok(picked)) => {
                assert_eq!(cut, picked);
                Ok(cut)
            }
            (Err(cut), Err(picked)) => {
                assert_eq!(cut.status, picked.status);
                Err(cut)
            }
            (cut, picked) => panic!("{cut:?} {picked:?}"),
        }
    }

    #[test]
    fn pages_one_after_the_other_are_the_list() {
        for count in [0, 1, 2, 10, 100] {
            let all: Vec<u32> = (0..count).map(|number| number * 3).collect();
            for limit in [1, 3, 5, 10, 11] {
                let (mut seen, mut cursor) = (vec![], None);
                loop {
                    let page = page(&all, Some(limit), cursor).unwrap();
                    assert_eq!(page.total, all.len());
                    seen.extend(page.items);
                    match page.next {
                        Some(next) => cursor = Some(next.parse().unwrap()),
                        None => break,
                    }
                }
                assert_eq!(seen, all, "{limit} at a time");
            }
            assert_eq!(page(&all, None, None).unwrap(), Page::whole(all.into_iter()));
        }
    }

    #[test]
    fn a_cursor_whose_item_is_gone_goes_on_behind_it() {
        assert_eq!(page(&[1, 2, 5, 6], Some(9), Some(4)).unwrap().items, [5, 6]);
        assert_eq!(page(&[1, 2], None, Some(7)).unwrap().items, [0_u32; 0]);
        assert_eq!(page(&[1], Some(0), None).unwrap_err().status, 400);
        assert_eq!(page(&[1], Some(PAGE_MAX + 1), None).unwrap_err().status, 400);
    }
}
