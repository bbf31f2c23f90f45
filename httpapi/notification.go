package httpapi

import (
	"slices"

	"payledger/domain/processor"
)

// receiveNotification: POST /processors/{name}/notifications, from a processor (D14). The signature over the
// body's bytes is what tells who calls, so the body is read first. It follows the processors' protocol and
// may have fields that are not known here: they add some as they please.
func receiveNotification(c *call) (any, error) {
	name := processor.Name(c.Vars["name"])
	if c.api.Notifications == nil || !slices.Contains(processor.Names, name) {
		return nil, nothingHere()
	}
	c.place.Leave() // the body may be long on its way
	body, err := c.bodyBytes(maxNotification)
	c.place.Return(c.Ctx)
	if err != nil {
		return nil, err
	}
	told, err := c.api.Notifications(name, c.r.Header, body)
	if err != nil {
		return nil, err
	}
	c.Actor = "processor:" + string(name)
	if err := c.api.Commands.Notify(c.Ctx, c.ID, told); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}
