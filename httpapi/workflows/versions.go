package workflows

import (
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands/workflows"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

type versionAnswer struct {
	Version int64 `json:"version"`
	workflowBody
	CreatedAt paymentjson.Time `json:"createdAt"`
	Actor     string           `json:"actor"`
	ActorName string           `json:"actorName,omitempty"` // of a key or a user that the account still has
}

// ListVersions serves GET /management/workflows/{id}/versions, newest first.
func (h *Handlers) ListVersions(c *request.Call) (any, error) {
	if _, err := h.workflow(c); err != nil {
		return nil, err
	}
	cursors := c.CursorsOf("versions", workflowID(c))
	address := uint64(0)
	if c.From != nil {
		var err error
		if address, err = strconv.ParseUint(c.From.ID, 10, 64); err != nil {
			return nil, err // a signed cursor of this list has an address
		}
	}
	found, next, err := h.Engine.Versions(c.Ctx, c.Merchant.ID, workflowID(c), address, request.Limit(c.Query))
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	answer := request.List[versionAnswer]{Data: request.Map(found, func(v workflows.Version) versionAnswer {
		return versionAnswer{
			Version: v.Number, workflowBody: renderDefinition(v.Definition), CreatedAt: paymentjson.Time{Time: v.At},
			Actor: v.Actor, ActorName: actorName(c.Merchant, v.Actor),
		}
	})}
	if next > 0 {
		answer.NextCursor = cursors.Text(&listing.Place{At: c.Merchant.CreatedAt, ID: strconv.FormatUint(next, 10)})
	}
	return answer, nil
}

func versionRules(v *validation.Violations, c *request.Call) {
	c.CursorsOf("versions", workflowID(c)).Check(v, c)
}

func actorName(s account.State, actor string) string {
	switch kind, id, _ := strings.Cut(actor, ":"); kind {
	case "api_key":
		key, _ := s.Key(domain.APIKeyID(id))
		return key.Name
	case "user":
		user, _ := s.User(domain.UserID(id))
		return user.Name
	default:
		return ""
	}
}
