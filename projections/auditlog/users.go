package auditlog

import (
	"context"
	"slices"

	"payledger/domain/account"
	"payledger/projections/sqlitefile"
)

// usersNamed returns the actors of all users with a name, also of removed ones: an e-mail address
// may belong to several, one after the other.
func (e *Reader) usersNamed(ctx context.Context, name string) ([]string, error) {
	if err := e.loadState(ctx); err != nil {
		return nil, err
	}
	name = account.UserName(name)
	var actors []string
	take := func(one fact) {
		if id := one.text("id"); id != "" && account.UserName(one.text("name")) == name && !slices.Contains(actors, user+id) {
			actors = append(actors, user+id)
		}
	}
	removed, _ := e.state[userLists[1]].([]any)
	for _, list := range userLists {
		all, _ := e.state[list].([]any)
		for _, one := range all {
			thing, _ := one.(map[string]any)
			take(thing)
		}
	}
	if len(removed) < account.MaxRemovedUsers { // the state has all of them
		return actors, nil
	}
	rows, err := sqlitefile.Read(ctx, e.DB, scan, selectUsersMade, string(e.Account), (account.UserAdded{}).Type(), (account.Created{}).Type())
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		r, err := e.Store.Read(ctx, row.Shard, row.Seq)
		if err != nil {
			return nil, err
		}
		event, err := factOf(r)
		if err != nil {
			return nil, err
		}
		made, _ := event["user"].(map[string]any)
		take(made)
	}
	return actors, nil
}
