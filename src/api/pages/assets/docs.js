const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const followPreference = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
prefersDark.addEventListener('change', followPreference)
followPreference()

const page = document.querySelector('#docs')
globalThis.SwaggerUIBundle({
  domNode: page,
  url: page.dataset.description,
  // Without BASE_URL, the description has the API's path alone. Behind a proxy, a prefix may precede this path.
  requestInterceptor: (request) => {
    request.url = request.url.replace(`${location.origin}/api/v1/`, new URL('./api/v1/', location))
    return request
  },
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // By default, Swagger UI sends the description to a public validator.
  validatorUrl: null,
})
