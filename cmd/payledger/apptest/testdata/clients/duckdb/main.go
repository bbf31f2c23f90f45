// Command main answers the queries on its standard input, one a line, from the tables of an exported folder, each as one line
// of JSON: an array of rows.
package main

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(views, dir string) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := os.Chdir(filepath.Clean(dir)); err != nil {
		return err
	}
	if _, err := db.Exec(views); err != nil {
		return fmt.Errorf("%s: %w", views, err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		rows, err := answer(db, lines.Text())
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(rows); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answer(db *sql.DB, query string) ([][]any, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	all := [][]any{}
	for rows.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
