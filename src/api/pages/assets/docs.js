const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const followPreference = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
prefersDark.addEventListener('change', followPreference)
followPreference()

const page = document.querySelector('#docs')
globalThis.SwaggerUIBundle({
  domNode: page,
  url: page.dataset.description,
  // The description names the API by its path alone, unless BASE_URL is set; a proxy may have put another path before it.
  requestInterceptor: (request) => {
    request.url = request.url.replace(`${location.origin}/api/v1/`, new URL('./api/v1/', location))
    return request
  },
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // The viewer would otherwise ask a host of its maker to judge the description.
  validatorUrl: null,
})
