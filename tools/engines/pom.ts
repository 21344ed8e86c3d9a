export type Artifact = {
  groupId: string
  artifactId: string
  version: string
  type?: string
  /** Without what it depends on. */
  alone?: boolean
}

const pluginVersion = '3.8.1'

/** A Maven project that does nothing but name what is to be fetched; mirrors and proxies are the user's own. */
export const renderPom = (
  artifacts: readonly Artifact[],
): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidemark</groupId>
  <artifactId>engines</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${artifacts.map(renderDependency).join('\n')}
  </dependencies>
  <build><pluginManagement><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId>
    <artifactId>maven-dependency-plugin</artifactId>
    <version>${pluginVersion}</version>
  </plugin></plugins></pluginManagement></build>
</project>
`

const renderDependency = ({ groupId, artifactId, version, type, alone }: Artifact): string => {
  const named = `<groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId><version>${version}</version>`
  const typed = type === undefined ? '' : `<type>${type}</type>`
  const excluded = '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
  return `    <dependency>${named}${typed}${alone ? excluded : ''}</dependency>`
}

const progressPattern = /Progress \(\d+\):[^\r\n]*?(\d[\d.]*\/\d[\d.]* [kMG]?B)/g

/** How far the latest download in Maven's output is, like `12/124 MB`. */
export const downloadProgress = (output: string): string | undefined =>
  [...output.matchAll(progressPattern)].at(-1)?.[1]
