package export

// Table describes a table.
type Table struct {
	Name, Doc string
	Columns   []Column
	Keys      []string
}

// Tables returns the tables of an export.
func Tables() []Table {
	return []Table{
		describe(events, "Every event of the log, in the order of positions."),
		describe(payments, "One row for each payment."),
		describe(transactions, "The authorizations and refunds of each payment."),
		describe(refunds, "The refunds of each payment, with the merchant's reason."),
		describe(disputes, "One row for each dispute."),
		describe(webhooks, "One row for each webhook and endpoint, from the records of deliveries beside the log: deliveries that --delivery-retention has dropped are in earlier exports only."),
		describe(entries, "Double-entry postings of every event that moves money. The debits and credits of an event are equal, in each currency."),
	}
}

func describe[T any](t table[T], doc string) Table {
	return Table{Name: t.name, Doc: doc, Columns: t.columns, Keys: t.keys()}
}
