// Starts the page of GET /docs. A file of its own: the page allows no script inside of it.
window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#api",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: 0,
    filter: true,
    validatorUrl: null, // would ask a server of others
  });
});
