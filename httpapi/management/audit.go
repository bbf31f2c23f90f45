package management

import (
	"net/url"
	"slices"

	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/auditlog"
	"payledger/projections/eventjson"
)

// ListAuditLog serves GET /management/audit-log: who changed what, when and from where, newest
// first (D20).
func (h *Handlers) ListAuditLog(c *request.Call) (any, error) {
	filter := auditFilter(c.Query)
	cursors := c.Cursors("audit-log", filter)
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	found, err := h.Reader.ListAudit(c.Ctx, c.Merchant.ID, filter, c.From, request.Limit(c.Query))
	return request.List[auditlog.Entry]{Data: append([]auditlog.Entry{}, found.Data...), NextCursor: cursors.Text(found.Next)}, err
}

func auditFilter(query url.Values) auditlog.Filter {
	return auditlog.Filter{
		Actor: query.Get("actor"), User: query.Get("user"), Types: request.Several(query, "type"), Subject: query.Get("subject"),
		From: request.Read(query, "from", validation.ParseTime), To: request.Read(query, "to", validation.ParseTime),
	}
}

func auditRules(v *validation.Violations, c *request.Call) {
	filter := auditFilter(c.Query)
	known := eventjson.Types()
	for _, name := range filter.Types {
		if _, found := slices.BinarySearch(known, name); !found {
			v.Once("$.type", "has an unknown event type")
		}
	}
	v.Range(filter.From, filter.To)
	c.Cursors("audit-log", filter).Check(v, c)
}
