package homepages

import (
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

// stops are the lists of the routing rules that refuse payments, because none of their processors
// takes any (D15).
type stops struct {
	None  bool // no processor takes payments: all are refused
	Lists []account.RouteList
}

func readStops(v *frame.Visit) (s stops, err error) {
	var list struct {
		Data []struct {
			Name       processor.Name
			Enabled    bool
			Connection processor.ConnectionState
		}
	}
	if err := v.Get("/management/processors", nil, &list); err != nil {
		return s, err
	}
	takes := map[processor.Name]bool{}
	for _, p := range list.Data {
		if p.Enabled && p.Connection != processor.NoAddress {
			takes[p.Name] = true
		}
	}
	if s.None = len(takes) == 0; s.None {
		return s, nil
	}
	var rules account.Routing
	err = v.Get("/management/routing", nil, &rules)
	s.Lists = rules.Stopped(func(name processor.Name) bool { return takes[name] })
	return s, err
}
