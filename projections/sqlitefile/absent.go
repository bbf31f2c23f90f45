package sqlitefile

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// Absent returns a file that does not exist: each read of it fails with err. It has no writer.
func Absent(err error) *File {
	return &File{readers: sql.OpenDB(absent{err}), Statements: map[string]*sql.Stmt{}}
}

// absent implements driver.Connector and driver.Driver.
type absent struct{ err error }

func (a absent) Connect(context.Context) (driver.Conn, error) { return nil, a.err }
func (a absent) Driver() driver.Driver                        { return a }
func (a absent) Open(string) (driver.Conn, error)             { return nil, a.err }
