//! Tables that are stored beside the laboratory and are not part of it. Tests that need an absent table say so.

/// A table read from a comma-separated file.
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The index of a column, by its name.
    pub(crate) fn column(&self, name: &str) -> usize {
        let place = self.header.iter().position(|header| header == name);
        place.unwrap_or_else(|| panic!("no column `{name}`"))
    }
}

/// The table in `$BLOATLAB_SHARED/radio`, or in `../shared/radio` relative to the repository or its main working tree.
pub(crate) fn table(file: &str) -> Option<Table> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = std::env::var_os("BLOATLAB_SHARED").map(std::path::PathBuf::from);
    let places = [given, Some(root.join("../shared"))];
    let path = places
        .into_iter()
        .flatten()
        .map(|place| place.join("radio").join(file))
        .find(|path| path.exists());
    let Some(path) = path else {
        eprintln!(
            "skipped: {file} is not there (looked in ../shared/radio and $BLOATLAB_SHARED/radio)"
        );
        return None;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut lines = text.lines();
    let header = cells(lines.next().unwrap());
    Some(Table {
        header,
        rows: lines.map(cells).collect(),
    })
}
