{{/* The environment of a component. Arguments: root, component. */}}
{{- define "tidemark.env" -}}
{{- include "tidemark.complete" . -}}
{{- $name := include "tidemark.fullname" .root -}}
{{- $config := include "tidemark.entries" (merge (dict "key" "config") .) | fromYaml -}}
{{- $isServed := has .component (list "api" "indexer" "settings") -}}
{{- if $isServed -}}
{{- $service := printf "%s-%s-admin" $name .component -}}
{{- $hosts := list $service (printf "%s.%s" $service .root.Release.Namespace) (printf "%s.%s.svc" $service .root.Release.Namespace) -}}
{{- with $config.ADMIN_ALLOWED_HOSTS -}}{{- $hosts = append $hosts . -}}{{- end -}}
{{- $_ := set $config "ADMIN_ALLOWED_HOSTS" (join "," $hosts) -}}
{{- $_ := set $config "ADMIN_PORT" "9100" -}}
{{- if ne .component "indexer" -}}{{- $_ := set $config "PORT" "3000" -}}{{- end -}}
{{- with (include "tidemark.own" . | fromYaml).drainSeconds -}}{{- $_ := set $config "DRAIN_MS" (mul . 1000) -}}{{- end -}}
{{- else -}}
{{- $config = omit $config "ADMIN_HOST" "ADMIN_ALLOWED_HOSTS" -}}
{{- end -}}
{{- range $engine := include "tidemark.authorities" . | fromJsonArray -}}
{{- $variable := ternary "KAFKA_SSL_CA_FILE" (printf "%s_CA_FILE" (upper $engine)) (eq $engine "kafka") -}}
{{- $_ := set $config $variable (printf "/etc/tidemark/authorities/%s.pem" $engine) -}}
{{- end -}}
{{- range $engine := include "tidemark.clientCertificates" . | fromJsonArray -}}
{{- $prefix := ternary "KAFKA_SSL" (upper $engine) (eq $engine "kafka") -}}
{{- range $part := list "cert" "key" -}}
{{- $_ := set $config (printf "%s_%s_FILE" $prefix (upper $part)) (printf "/etc/tidemark/certificates/%s-%s.pem" $engine $part) -}}
{{- end -}}
{{- end -}}
{{- range $name, $entry := include "tidemark.entries" (merge (dict "key" "secrets") .) | fromYaml -}}
{{- with $entry.file -}}{{- $_ := set $config (printf "%s_FILE" $name) . -}}{{- end -}}
{{- end -}}
{{- if eq .root.Values.secretsAs "files" -}}
{{- range $variable, $_ := include "tidemark.secretRefs" . | fromYaml -}}
{{- $_ := set $config (printf "%s_FILE" $variable) (printf "%s/%s" $.root.Values.secretsFolder $variable) -}}
{{- end -}}
{{- end -}}
{{- range $variable, $value := $config -}}
{{- $text := include "tidemark.text" $value -}}
{{- if $text }}
- name: {{ $variable }}
  value: {{ $text | quote }}
{{- end -}}
{{- end -}}
{{- if eq .root.Values.secretsAs "env" -}}
{{- range $variable, $ref := include "tidemark.secretRefs" . | fromYaml }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ $ref.secret }}
      key: {{ $ref.key }}
{{- end -}}
{{- end -}}
{{- with .root.Values.extraEnv }}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* The volumes of a component, each with its mount: a YAML list. Arguments: root, component. */}}
{{- define "tidemark.volumes" -}}
{{- $own := include "tidemark.own" . | fromYaml -}}
{{- with $own.temporaryStorage }}
- mount: {name: tmp, mountPath: /tmp}
  volume: {name: tmp, emptyDir: {sizeLimit: {{ . }}}}
{{- end -}}
{{- with include "tidemark.authorities" . | fromJsonArray }}
- mount: {name: authorities, mountPath: /etc/tidemark/authorities, readOnly: true}
  volume:
    name: authorities
    projected:
      sources:
        {{- range $engine := . }}
        {{- $from := index $.root.Values.authorities $engine }}
        - {{ ternary "secret" "configMap" (ne $from.secret "") }}:
            name: {{ $from.secret | default $from.configMap }}
            items: [{key: {{ $from.key }}, path: {{ $engine }}.pem}]
        {{- end }}
{{- end -}}
{{- with include "tidemark.clientCertificates" . | fromJsonArray }}
- mount: {name: certificates, mountPath: /etc/tidemark/certificates, readOnly: true}
  volume:
    name: certificates
    projected:
      sources:
        {{- range $engine := . }}
        {{- $from := index $.root.Values.clientCertificates $engine }}
        - secret:
            name: {{ $from.secret }}
            items:
              - {key: {{ $from.certificate }}, path: {{ $engine }}-cert.pem}
              - {key: {{ $from.key }}, path: {{ $engine }}-key.pem}
        {{- end }}
{{- end -}}
{{- if eq .root.Values.secretsAs "files" -}}
{{- with include "tidemark.secretRefs" . | fromYaml }}
- mount: {name: secrets, mountPath: {{ $.root.Values.secretsFolder }}, readOnly: true}
  volume:
    name: secrets
    projected:
      sources:
        {{- range $variable, $ref := . }}
        - secret:
            name: {{ $ref.secret }}
            items: [{key: {{ $ref.key }}, path: {{ $variable }}}]
        {{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What every container has. Arguments: root, component, args. */}}
{{- define "tidemark.container" -}}
{{- $own := include "tidemark.own" . | fromYaml -}}
{{- $parts := $own.image | default dict -}}
{{- $image := merge dict $parts .root.Values.image -}}
{{- /* `merge` would fill in the chart's digest, which would stand above the tag. */ -}}
{{- if $parts.tag -}}{{- $_ := set $image "digest" $parts.digest -}}{{- end -}}
name: {{ .component }}
image: {{ $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end }}
imagePullPolicy: {{ $image.pullPolicy }}
command: [tidemark]
args:
  {{- toYaml .args | nindent 2 }}
securityContext:
  {{- toYaml .root.Values.securityContext | nindent 2 }}
env:
  {{- include "tidemark.env" . | trim | nindent 2 }}
resources:
  {{- toYaml $own.resources | nindent 2 }}
{{- $mounts := list -}}
{{- range include "tidemark.volumes" . | fromYamlArray -}}{{- $mounts = append $mounts .mount -}}{{- end -}}
{{- with concat $mounts .root.Values.extraVolumeMounts }}
volumeMounts:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* What every pod has, also that of `helm test`. Arguments: root, own. */}}
{{- define "tidemark.podSpec" -}}
serviceAccountName: {{ include "tidemark.serviceAccount" .root }}
automountServiceAccountToken: false
# Kubernetes would set ADMIN_PORT for a service named `admin`.
enableServiceLinks: false
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- range $key := list "priorityClassName" "nodeSelector" "tolerations" "affinity" }}
{{- with index $.own $key | default (index $.root.Values $key) }}
{{ $key }}: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .root.Values.extraPodSpec }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What a pod of a component has, except its containers. Arguments: root, component. */}}
{{- define "tidemark.pod" -}}
{{- $own := include "tidemark.own" . | fromYaml -}}
{{ include "tidemark.podSpec" (dict "root" .root "own" $own) }}
{{- $volumes := list -}}
{{- range include "tidemark.volumes" . | fromYamlArray -}}{{- $volumes = append $volumes .volume -}}{{- end -}}
{{- with concat $volumes .root.Values.extraVolumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* Labels and annotations of a component's pods. A changed secret of the chart restarts the pods that use it. */}}
{{- define "tidemark.podMetadata" -}}
labels:
  {{- include "tidemark.selectorLabels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/secrets: {{ include "tidemark.secretData" . | sha256sum }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
