module github.com/cockroachdb/errors

go 1.26.0
