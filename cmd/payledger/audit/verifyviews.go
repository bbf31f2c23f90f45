package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"payledger/eventstore/verify"
	"payledger/notifier"
	"payledger/projections"
	"payledger/projections/compare"
	"payledger/projections/deliveries"
	"payledger/projections/sqlitefile"
)

// openViews opens the views of a stopped service and prepares their comparisons. A file that cannot
// be read is a fault.
func (c *checker) openViews(ctx context.Context, folder string, shards int) error {
	err := c.openFile(ctx, filepath.Join(folder, projections.FileName), projections.Identity(shards), "read model", compare.Remedy, func(file *sqlitefile.Still) (err error) {
		c.views, err = compare.Stopped(ctx, file.DB, c.report)
		if err != nil {
			c.views = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.openFile(ctx, filepath.Join(folder, deliveries.FileName), deliveries.Identity, "index of deliveries", compare.DeliveriesRemedy, func(file *sqlitefile.Still) (err error) {
		c.deliveries, err = compare.StoppedDeliveries(ctx, file.DB, notifier.RowOf, c.report)
		if err != nil {
			c.deliveries = nil
		}
		return err
	})
}

// openFile opens one file for use. A start rebuilds a missing file, or one of another version: a
// note says that it was not compared.
func (c *checker) openFile(ctx context.Context, path, identity, what, remedy string, use func(*sqlitefile.Still) error) error {
	file, err := sqlitefile.OpenStill(ctx, path, identity, "")
	switch {
	case errors.Is(err, os.ErrNotExist):
		c.note = joined(c.note, "the "+what+" has no file, and was not compared: a start makes it")
		return nil
	case errors.Is(err, sqlitefile.ErrStale):
		c.note = joined(c.note, "the file of the "+what+" is of another version, and was not compared: a start rebuilds it")
		return nil
	case err == nil:
		c.open = append(c.open, file)
		err = use(file)
	}
	if err != nil {
		return c.report(verify.Fault{Difference: err.Error() + "; " + remedy})
	}
	return nil
}
