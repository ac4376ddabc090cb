package oci

import "time"

// The documents of the OCI image format, as far as they pass through here:
// an image comes or goes, so it and what is in it have every field of the
// standard; the order of the fields is part of our digests.

// Media types that we write.
const (
	MediaTypeIndex    = "application/vnd.oci.image.index.v1+json"
	MediaTypeManifest = "application/vnd.oci.image.manifest.v1+json"
	MediaTypeConfig   = "application/vnd.oci.image.config.v1+json"
	MediaTypeLayer    = "application/vnd.oci.image.layer.v1.tar+zstd"
)

// Media types of images as they were before there was a standard.
const (
	DockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	DockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	DockerConfig   = "application/vnd.docker.container.image.v1+json"
)

// Files of a layout.
const (
	layoutFile    = "oci-layout"
	layoutVersion = "1.0.0"
	indexFile     = "index.json"
	blobsDir      = "blobs"
)

// refName is the annotation that holds the name of an image in an index.
const refName = "org.opencontainers.image.ref.name"

// layoutHeader is the file that says that a directory is a layout.
type layoutHeader struct {
	Version string `json:"imageLayoutVersion"`
}

// Descriptor refers to a blob.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       Digest            `json:"digest"`
	Size         int64             `json:"size"`
	URLs         []string          `json:"urls,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Data         []byte            `json:"data,omitempty"`
	Platform     *Platform         `json:"platform,omitempty"` // of a manifest
	ArtifactType string            `json:"artifactType,omitempty"`
}

// Platform is what kind of machine an image is for, as Go names them.
type Platform struct {
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	OSVersion    string   `json:"os.version,omitempty"`
	OSFeatures   []string `json:"os.features,omitempty"`
	Variant      string   `json:"variant,omitempty"`
}

// Index is a list of images.
type Index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Manifests     []Descriptor      `json:"manifests"`
	Subject       *Descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// Manifest is what one image consists of.
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        Descriptor        `json:"config"`
	Layers        []Descriptor      `json:"layers"`
	Subject       *Descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// imageConfig is an image's configuration.
type imageConfig struct {
	Created *time.Time `json:"created,omitempty"`
	Platform
	Config  runConfig `json:"config"`
	RootFS  rootFS    `json:"rootfs"`
	History []history `json:"history,omitempty"`
}

// runConfig is how a program is started in it.
type runConfig struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Cmd        []string          `json:"Cmd,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []Digest `json:"diff_ids"`
}

type history struct {
	Created   *time.Time `json:"created,omitempty"`
	CreatedBy string     `json:"created_by,omitempty"`
}
