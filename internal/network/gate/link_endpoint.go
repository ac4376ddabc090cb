package gate

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

var _ stack.LinkEndpoint = (*link)(nil)

// The rest of what the stack wants to know of a link: a TUN device has neither
// addresses nor headers of its own.

func (l *link) MTU() uint32                             { return MTU }
func (l *link) SetMTU(uint32)                           {}
func (l *link) MaxHeaderLength() uint16                 { return 0 }
func (l *link) LinkAddress() tcpip.LinkAddress          { return "" }
func (l *link) SetLinkAddress(tcpip.LinkAddress)        {}
func (l *link) IsAttached() bool                        { return l.target.Load() != nil }
func (l *link) Wait()                                   {}
func (l *link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }
func (l *link) AddHeader(*stack.PacketBuffer)           {}
func (l *link) ParseHeader(*stack.PacketBuffer) bool    { return true }
func (l *link) Close()                                  {}
func (l *link) SetOnCloseAction(func())                 {}
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload
}
