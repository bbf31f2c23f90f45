package httpapi

import (
	"slices"

	"payledger/domain/processor"
)

// receiveNotification serves POST /processors/{name}/notifications, from a processor (D14.3,
// D14.4). The signature covers the bytes of the body, so the body is read first. Processors may add
// fields.
func receiveNotification(c *call) (any, error) {
	name := processor.Name(c.Vars["name"])
	if c.api.Notifications == nil || !slices.Contains(processor.Names, name) {
		return nil, nothingHere()
	}
	c.place.Leave() // the body may come slowly
	body, err := c.bodyBytes(maxNotification)
	c.place.Return(c.Ctx)
	if err != nil {
		return nil, err
	}
	notification, err := c.api.Notifications(name, c.r.Header, body)
	if err != nil {
		return nil, err
	}
	c.Actor = "processor:" + string(name)
	if err := c.api.Commands.Notify(c.Ctx, c.ID, notification); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}
