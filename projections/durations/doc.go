// Package durations counts durations in buckets: few numbers hold the quantiles of many durations,
// and can be added up.
//
// # Rules
//
//   - The buckets are fixed, because their numbers are stored. Bucket 0 is below 128 µs. Above it,
//     eight buckets of equal width follow from each power of two to the next. The last one begins
//     at 47 days and has no end.
//   - A quantile is the upper bound of its bucket: never below the true value, and above it by
//     12.5 % at most, or by 128 µs below 128 µs.
//
// The package must not know: what lasted that long.
package durations
