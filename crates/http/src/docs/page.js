// Shows the OpenAPI document of this controller, and asks what can be asked without changing anything.
"use strict";

const make = (name, text, ...children) => {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

const schemaName = (schema) => {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.type === "array") return `list of ${schemaName(schema.items)}`;
  if (schema.enum) return schema.enum.join(" | ");
  return [schema.type].flat().filter((type) => type && type !== "null").join(" | ");
};

const fields = (document_, schema) => {
  const named = schema?.$ref && document_.components.schemas[schemaName(schema)];
  const properties = named?.properties;
  if (!properties) return [];
  const rows = Object.entries(properties).map(([name, field]) =>
    make("tr", "", make("td", "", make("code", name)), make("td", schemaName(field)), make("td", field.description || "")));
  return [make("h4", schemaName(schema)), make("table", "", ...rows)];
};

const asker = (path, parameters) => {
  const inputs = parameters.map((parameter) => {
    const input = make("input");
    input.name = parameter.name;
    return { parameter, input, label: make("label", `${parameter.name}: ${parameter.description || ""} `, input) };
  });
  const answer = make("pre");
  answer.hidden = true;
  const button = make("button", "Ask");
  button.onclick = async () => {
    const query = new URLSearchParams();
    let filled = path;
    for (const { parameter, input } of inputs) {
      if (parameter.in === "path") filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (input.value) query.set(parameter.name, input.value);
    }
    answer.hidden = false;
    try {
      const response = await fetch(query.size ? `${filled}?${query}` : filled);
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON */ }
      answer.textContent = `${response.status}\n${shown}`;
    } catch (error) {
      answer.textContent = String(error);
    }
  };
  return [...inputs.map(({ label }) => label), button, answer];
};

const operation = (document_, path, method, described) => {
  const content = Object.values(described.responses["200"]?.content || {})[0];
  const streams = Object.keys(described.responses["200"]?.content || {}).includes("text/event-stream");
  const details = make("details", "", make("summary", "", make("span", method), make("code", path), make("span", `  ${described.summary || ""}`)));
  details.querySelector("span").className = "method";
  if (described.description) details.append(make("p", described.description));
  const answers = Object.entries(described.responses).map(([status, response]) =>
    make("tr", "", make("td", status), make("td", response.description)));
  details.append(make("table", "", ...answers), ...fields(document_, content?.schema));
  if (method === "get" && content && !streams) details.append(...asker(path, described.parameters || []));
  return details;
};

const show = async () => {
  const document_ = await (await fetch("/api/v1/openapi.json")).json();
  const about = document.getElementById("about");
  about.textContent = `${document_.info.description} Version ${document_.info.version}; as OpenAPI: `;
  const link = make("a", "/api/v1/openapi.json");
  link.href = "/api/v1/openapi.json";
  about.append(link);
  const groups = new Map();
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const tag = described.tags?.[0] || "other";
      groups.set(tag, [...(groups.get(tag) || []), operation(document_, path, method, described)]);
    }
  }
  const operations = document.getElementById("operations");
  for (const [tag, list] of groups) operations.append(make("h2", tag), ...list);
};

show().catch((error) => { document.getElementById("about").textContent = `The description cannot be read: ${error}`; });
