package dashboard

import "context"

type noteKey struct{}

func withNote(ctx context.Context, note *Served) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// noteOf returns the notes about the request, for its log line.
func noteOf(ctx context.Context) *Served {
	if note, is := ctx.Value(noteKey{}).(*Served); is {
		return note
	}
	return &Served{}
}
