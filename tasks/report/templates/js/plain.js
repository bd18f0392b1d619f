// The start of a page without a leaderboard of scores: what serves the whole page, and sorting.
startTheme();
startTips();
startContents();
startDownloads();
startSorting();
