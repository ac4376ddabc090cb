package engine

import (
	"context"
	"errors"
	"io"

	"github.com/forkbox/forkbox"
)

var errTODO = errors.New("not written yet")

func (e *Engine) Snapshot(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.SnapshotSpec) (forkbox.Snapshot, error) {
	return forkbox.Snapshot{}, errTODO
}
func (e *Engine) Snapshots(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Snapshot, error) {
	return nil, errTODO
}
func (e *Engine) Rollback(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RollbackSpec) (forkbox.Rollback, error) {
	return forkbox.Rollback{}, errTODO
}
func (e *Engine) Fork(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec) (forkbox.Fork, error) {
	return forkbox.Fork{}, errTODO
}
func (e *Engine) RemoveSnapshot(ctx context.Context, who forkbox.Owner, ref string, squash bool) error {
	return errTODO
}
func (e *Engine) Family(ctx context.Context, who forkbox.Owner) (forkbox.Family, error) {
	return forkbox.Family{}, errTODO
}
func (e *Engine) CreateTemplate(ctx context.Context, who forkbox.Owner, spec forkbox.TemplateSpec) (forkbox.Template, error) {
	return forkbox.Template{}, errTODO
}
func (e *Engine) Templates(ctx context.Context, who forkbox.Owner) ([]forkbox.Template, error) {
	return nil, errTODO
}
func (e *Engine) RemoveTemplate(ctx context.Context, who forkbox.Owner, name string) error {
	return errTODO
}
func (e *Engine) WarmTemplate(ctx context.Context, who forkbox.Owner, name string, n int) (forkbox.Template, error) {
	return forkbox.Template{}, errTODO
}
func (e *Engine) Export(ctx context.Context, who forkbox.Owner, ref string, w io.Writer) error {
	return errTODO
}
func (e *Engine) Import(ctx context.Context, who forkbox.Owner, r io.Reader, spec forkbox.ImportSpec) (forkbox.Import, error) {
	return forkbox.Import{}, errTODO
}
func (e *Engine) AddBase(ctx context.Context, who forkbox.Owner, kind, name string, r io.Reader) (forkbox.Base, error) {
	return forkbox.Base{}, errTODO
}
func (e *Engine) Keep(ctx context.Context, who forkbox.Owner, ref string, keep bool) (forkbox.Box, error) {
	return forkbox.Box{}, errTODO
}
func (e *Engine) GC(ctx context.Context, who forkbox.Owner, spec forkbox.GCSpec) (forkbox.GC, error) {
	return forkbox.GC{}, errTODO
}
func (e *Engine) Usage(ctx context.Context, who forkbox.Owner) (forkbox.Usage, error) {
	return forkbox.Usage{}, errTODO
}
