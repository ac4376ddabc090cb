package api

// ArchiveType is the media type of a snapshot on its way: a tar of an OCI image
// layout.
const ArchiveType = "application/vnd.forkbox.oci-archive.v1+tar"
