package layers

// overlay lets boxes lie over layers: the top of an idle box becomes a layer
// by a rename. The top of a busy one is copied, with shared blocks where the
// filesystem has them.
var overlay = trees{called: "overlay", stack: true, share: mayShare}
