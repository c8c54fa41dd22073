import { defineConfig } from 'vite';

// The controller whose API the development server passes on.
const controller = process.env.ALDIS_HTTP ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: './',
  resolve: { dedupe: ['preact'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: {
    host: '127.0.0.1',
    port: 5173,
    strictPort: true,
    proxy: {
      '/api': {
        target: controller,
        changeOrigin: true,
        headers: { origin: controller },
      },
      '/metrics': { target: controller, changeOrigin: true },
    },
  },
  build: {
    outDir: 'dist',
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'app.js',
        assetFileNames: (asset) => (asset.names[0]?.endsWith('.css') ? 'app.css' : '[name][extname]'),
        codeSplitting: false,
      },
    },
  },
});
